#include <stdio.h>
#include <stdlib.h>
#include "host.h"
#include "_cgo_export.h"

// Of LLVM's interface for C (llvm-c/*.h).
typedef struct opaque *ref;
extern void LLVMLinkInMCJIT(void);
extern void LLVMInitializeX86TargetInfo(void);
extern void LLVMInitializeX86Target(void);
extern void LLVMInitializeX86TargetMC(void);
extern void LLVMInitializeX86AsmPrinter(void);
extern ref LLVMContextCreate(void);
extern int LLVMCreateMemoryBufferWithContentsOfFile(const char *path, ref *out, char **message);
extern int LLVMParseIRInContext(ref context, ref buffer, ref *module, char **message);
extern int LLVMCreateExecutionEngineForModule(ref *engine, ref module, char **message);
extern unsigned long LLVMGetFunctionAddress(ref engine, const char *name);
extern void LLVMDisposeExecutionEngine(ref engine);

static ref context, engine;

static int back(struct record *r) {
	r->ra[r->count++] = __builtin_return_address(0);
	called(r);
	return 1;
}

static int check(int failed, char *message) {
	if (failed)
		fprintf(stderr, "%s\n", message);
	return failed;
}

function compile(const char *path) {
	ref buffer, module;
	char *message = "";
	LLVMLinkInMCJIT();
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	context = LLVMContextCreate();
	if (check(LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message), message) ||
	    check(LLVMParseIRInContext(context, buffer, &module, &message), message) ||
	    check(LLVMCreateExecutionEngineForModule(&engine, module, &message), message))
		return NULL;
	return (function)LLVMGetFunctionAddress(engine, "outer");
}

int run(function outer, struct record *r) { return outer(back, r, 5); }

void forget(void) { LLVMDisposeExecutionEngine(engine); }
