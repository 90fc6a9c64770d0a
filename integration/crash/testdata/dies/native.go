package main

/*
#cgo CFLAGS: -O1 -g -fno-omit-frame-pointer -fstack-protector-all -D_FORTIFY_SOURCE=0 -Wno-all
#cgo CXXFLAGS: -O1 -g -Wno-all
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
int dies_c(const char *how);
void dies_cxx(const char *how);
extern int calledBack(int);
*/
import "C"

import "strings"

//export calledBack
func calledBack(n C.int) C.int {
	panic("in a callback from C")
}

func native(how string) {
	if cut, ok := strings.CutPrefix(how, "cxx-"); ok {
		C.dies_cxx(C.CString(cut))
	} else {
		C.dies_c(C.CString(how))
	}
}
