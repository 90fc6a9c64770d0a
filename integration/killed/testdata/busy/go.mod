module busy

go 1.24
