module breaks

go 1.26
