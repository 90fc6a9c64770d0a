module example.com/barista

go 1.24
