#pragma once

struct record {
	int count;
	void *ra[16];
};

typedef int (*function)(int (*back)(struct record *), struct record *r, int n);

function compile(const char *path);
int run(function outer, struct record *r);
void forget(void);
