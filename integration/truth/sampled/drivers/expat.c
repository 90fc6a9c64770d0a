// Documents whose elements, texts and entities go to Go, and one with an error.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *XML_ParserCreateNS(const char *, char);
extern void XML_SetElementHandler(void *, void *, void *), XML_SetCharacterDataHandler(void *, void *), XML_SetCommentHandler(void *, void *), XML_ParserFree(void *);
extern void XML_SetExternalEntityRefHandler(void *, void *), XML_SetUnknownEncodingHandler(void *, void *, void *);
extern int XML_Parse(void *, const char *, int, int);

static back go;
static void begin(void *u, const char *name, const char **attributes) { go(strlen(name)); }
static void end(void *u, const char *name) { go(0); }
static void characters(void *u, const char *text, int n) { go(n); }
static int encoding(void *u, const char *name, void *info) { return go(0) * 0; }

int run(back b) {
	static const char *documents[] = {
		"<?xml version='1.0' encoding='iso-8859-1'?><!DOCTYPE a [<!ENTITY e 'x<b>y</b>'><!ATTLIST a c CDATA 'd'>]><a xmlns='urn:a'>&e;<b c=\"1&lt;2\"/>\xe4</a>",
		"<?xml version='1.0' encoding='other'?><a/>", "<a><b>\xc3\xa4</c>", "\xff\xfe<\0a\0/\0>\0"};
	go = b;
	for (int i = 0; i < 4; i++) {
		void *p = XML_ParserCreateNS(0, ':');
		int n = i == 3 ? 10 : strlen(documents[i]), half = n / 2 & ~1;
		XML_SetElementHandler(p, begin, end);
		XML_SetCharacterDataHandler(p, characters);
		XML_SetUnknownEncodingHandler(p, encoding, 0);
		XML_Parse(p, documents[i], half, 0);
		XML_Parse(p, documents[i] + half, n - half, 1);
		XML_ParserFree(p);
	}
	return 0;
}
