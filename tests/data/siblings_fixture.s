# DWARF in which each of 60 nested blocks calls its own child its next sibling: as a tree it has 2^60 entries.
        .text
        .globl  function
        .type   function, @function
function:
        .skip   16, 0x90
        .size   function, . - function

        .section .debug_abbrev, "", @progbits
        .byte   1, 0x11, 1              # a compilation unit with children
        .byte   0x11, 1, 0x12, 7, 0, 0  # low_pc: address, high_pc: bytes
        .byte   2, 0x2e, 1              # a subprogram with children
        .byte   0x03, 8                 # name: text
        .byte   0x11, 1, 0x12, 7, 0, 0
        .byte   3, 0x0b, 1              # a block with children
        .byte   0x01, 0x13, 0, 0        # sibling: offset in the unit
        .byte   0

        .section .debug_info, "", @progbits
.Lunit:
        .long   .Lunit_end - .Lunit_begin
.Lunit_begin:
        .short  4                       # DWARF 4
        .long   0
        .byte   8
        .byte   1
        .quad   function, 16
        .byte   2
        .asciz  "function"
        .quad   function, 16
        .rept   60
        .byte   3
        .long   1f - .Lunit
1:
        .endr
        .skip   62, 0
.Lunit_end:
