module plimsoll.test/heap_go

go 1.19
