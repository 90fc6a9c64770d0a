// A document read by functions in Go, queried by XPath with a function in Go, and written to
// one.
#include <stdlib.h>
#include <string.h>

typedef int (*back)(int);
extern void *xmlReadIO(void *, void *, void *, const char *, const char *, int), *xmlXPathNewContext(void *), *xmlXPathEvalExpression(const char *, void *);
extern void *xmlXPathNewFloat(double), *valuePop(void *), *xmlOutputBufferCreateIO(void *, void *, void *, void *), *xmlSchemaNewMemParserCtxt(const char *, int);
extern int xmlXPathRegisterFunc(void *, const char *, void *), valuePush(void *, void *), xmlSaveFileTo(void *, void *, const char *);
extern void xmlFreeDoc(void *), xmlXPathFreeContext(void *), xmlXPathFreeObject(void *), xmlSetStructuredErrorFunc(void *, void *);
extern void *xmlReaderForMemory(const char *, int, const char *, const char *, int);
extern int xmlTextReaderRead(void *);
extern void xmlFreeTextReader(void *);

static back go;
static const char text[] = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e 'entity'><!ELEMENT a (b*)>]>"
	"<a xmlns:n='urn:n'><b id='1'>one &e;</b><n:b id='2'><![CDATA[two]]></n:b><!-- c --><b/></a>";
static int at;
static int get(void *c, char *to, int n) {
	n = n > 20 ? 20 : n;
	n = sizeof text - 1 - at < n ? sizeof text - 1 - at : n;
	go(n);
	memcpy(to, text + at, n);
	at += n;
	return n;
}
static int put(void *c, const char *b, int n) { go(n); return n; }
static int done(void *c) { return go(0) * 0; }
static void function(void *parser, int n) {
	while (n-- > 0)
		xmlXPathFreeObject(valuePop(parser));
	valuePush(parser, xmlXPathNewFloat(go(n)));
}
static void error(void *c, void *e) { go(1); }

int run(back b) {
	go = b;
	xmlSetStructuredErrorFunc(0, error);
	void *doc = xmlReadIO(get, done, 0, "a.xml", 0, 2);
	if (!doc)
		return 1;
	void *context = xmlXPathNewContext(doc);
	xmlXPathRegisterFunc(context, "in-go", function);
	xmlXPathFreeObject(xmlXPathEvalExpression("//b[@id > in-go(1, 'x')]/text() | count(/a/*[position() mod 2 = 1])", context));
	xmlXPathFreeObject(xmlXPathEvalExpression("string-length(concat(/a/b[1], 'abc')) + in-go()", context));
	xmlXPathFreeContext(context);
	xmlSaveFileTo(xmlOutputBufferCreateIO(put, done, 0, 0), doc, 0);
	xmlFreeDoc(doc);
	void *reader = xmlReaderForMemory("<a><b></a>", 10, 0, 0, 0);
	while (xmlTextReaderRead(reader) == 1)
		;
	xmlFreeTextReader(reader);
	return 0;
}
