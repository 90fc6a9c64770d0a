// A database in memory, with functions, an order, an authoriser and rows in Go.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern int sqlite3_open(const char *, void **), sqlite3_exec(void *, const char *, void *, void *, char **), sqlite3_close(void *);
extern int sqlite3_create_function(void *, const char *, int, int, void *, void *, void *, void *), sqlite3_create_collation(void *, const char *, int, void *, void *);
extern int sqlite3_set_authorizer(void *, void *, void *), sqlite3_value_int(void *);
extern void sqlite3_result_int(void *, int);

static back go;
static int row(void *u, int n, char **values, char **names) { return go(n) * 0; }
static void function(void *context, int n, void **values) { sqlite3_result_int(context, go(sqlite3_value_int(values[0]))); }
static int compare(void *u, int n, const void *a, int m, const void *b) { go(n); return strncmp(a, b, n < m ? n : m); }
static int authorise(void *u, int a, const char *b, const char *c, const char *d, const char *e) { return go(a) * 0; }

int run(back b) {
	void *db;
	go = b;
	if (sqlite3_open(":memory:", &db))
		return 1;
	sqlite3_create_function(db, "ingo", 1, 1, 0, function, 0, 0);
	sqlite3_create_collation(db, "ingo", 1, 0, compare);
	sqlite3_set_authorizer(db, authorise, 0);
	int err = sqlite3_exec(db, "create table t(a integer primary key, b text collate ingo, c real);"
		"insert into t values(1,'one',1.5),(2,'two',2.5),(3,'three',null);"
		"select b, ingo(a), sum(c) over (order by a) from t where a > 1 or b like 't%' order by b desc;", row, 0, 0);
	sqlite3_exec(db, "with recursive n(i) as (select 1 union all select i+1 from n where i < 5) select group_concat(i) from n; select nothing;", row, 0, 0);
	sqlite3_close(db);
	return err;
}
