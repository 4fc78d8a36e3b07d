# Functions that no compiler describes: one of known size, one without, and a label that is no function.
        .text
        .globl  by_hand
        .type   by_hand, @function
by_hand:
        movl    %edi, %eax
        imull   $31, %eax, %eax
        testl   %eax, %eax
        js      behind_hand
        xorl    $0x55, %eax
        ret
        .size   by_hand, . - by_hand
        .p2align 4
        .type   behind_hand, @function
behind_hand:
        negl    %eax
inner_label:
        addl    $3, %eax
        ret
        .skip   24, 0x90
        .section .note.GNU-stack, "", @progbits
