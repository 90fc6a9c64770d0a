module brew

go 1.26
