// A script with procedures, expressions, patterns, lists and a command in Go.
#include <stdlib.h>

typedef int (*back)(int);
extern void *Tcl_CreateInterp(void), *Tcl_CreateCommand(void *, const char *, void *, void *, void *);
extern int Tcl_Eval(void *, const char *);
extern void Tcl_DeleteInterp(void *), Tcl_FindExecutable(const char *);

static back go;
static int command(void *u, void *tcl, int n, const char **words) { return go(n) * 0; }

int run(back b) {
	go = b;
	Tcl_FindExecutable("/bin/true");
	void *tcl = Tcl_CreateInterp();
	Tcl_CreateCommand(tcl, "ingo", command, 0, 0);
	int err = Tcl_Eval(tcl, "proc f {n} {ingo $n; if {$n > 0} {return [f [expr {$n - 1}]]}; return 1}; f 3;"
		"set l [lsort -integer -decreasing {3 1 2}]; foreach x $l {ingo $x}; catch {error no}; dict set d a [llength $l];"
		"regexp {(a+)(b|c)*} xaabcb m; ingo $m; string map {a b} abab; format %05.2f [expr {sin(1.5) ** 2}]; namespace eval n {variable v 1}");
	Tcl_DeleteInterp(tcl);
	return err;
}
