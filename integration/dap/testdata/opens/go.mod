module opens

go 1.26
