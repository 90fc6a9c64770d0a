// Sorting and searching with a comparison in Go, formatting, scanning, regular expressions,
// time, conversion, globbing.
#define _GNU_SOURCE
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

typedef int (*back)(int);
static back go;
static int compare(const void *a, const void *b) { go(0); return *(const int *)a - *(const int *)b; }
static void visit(const void *node, VISIT v, int depth) { go(depth); }

int run(back b) {
	char text[400], *rest = 0;
	int numbers[40];
	void *tree = 0;
	regex_t re;
	regmatch_t m[3];
	glob_t g;
	struct tm tm;
	time_t t = 1700000000;
	wchar_t wide[40];
	go = b;
	for (int i = 0; i < 40; i++)
		numbers[i] = i * 7919 % 101;
	qsort(numbers, 40, sizeof *numbers, compare);
	bsearch(&numbers[3], numbers, 40, sizeof *numbers, compare);
	for (int i = 0; i < 10; i++)
		tsearch(&numbers[i], &tree, compare);
	twalk(tree, visit);
	snprintf(text, sizeof text, "%d %08.3f %-20s %g %a %Lf %p %n", 42, 3.14159, "text", 1e-300, 0.1, 2.5L, text, numbers);
	sscanf("17 3.5 abc 0x1f", "%d %lf %s %i", numbers, &(double){0}, text, numbers);
	if (!regcomp(&re, "(a+|b*)c[[:digit:]]{2,3}(x|y)*", REG_EXTENDED)) {
		regexec(&re, "zzaaac123xyxy", 3, m, 0);
		regfree(&re);
	}
	strftime(text, sizeof text, "%A %c %Z", localtime_r(&t, &tm));
	strptime("2026-11-22 10:00", "%Y-%m-%d %H:%M", &tm);
	mktime(&tm);
	mbstowcs(wide, "wide characters", 40);
	swprintf(wide, 40, L"%ls %d", L"w", 5);
	strtod("1.7976931348623157e308", &rest);
	glob("/etc/h*", 0, 0, &g);
	globfree(&g);
	iconv_t cd = iconv_open("UTF-16", "UTF-8");
	char *in = "conversion", *to = text;
	size_t n = 10, room = sizeof text;
	iconv(cd, &in, &n, &to, &room);
	iconv_close(cd);
	for (char *tok = strtok_r(strcpy(text, "a,b;c"), ",;", &rest); tok; tok = strtok_r(0, ",;", &rest))
		go(*tok);
	FILE *f = fopen("/etc/passwd", "r");
	while (f && fgets(text, sizeof text, f) && go(strlen(text)) < 40)
		;
	if (f)
		fclose(f);
	return 0;
}
