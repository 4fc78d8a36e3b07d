module go_load

go 1.19
