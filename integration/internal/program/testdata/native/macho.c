// A loader for the native code as a Mach-O library: maps its segments, applies what
// dyld would (rebases and binds, as LC_DYLD_INFO has them) and looks up symbols.
// With NATIVE_LOAD=memory it reads the library into memory that no file backs.
// Format: Apple's <mach-o/loader.h>.
#ifdef NATIVE_MACHO
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__emutls_get_address(void *); // libgcc's, for what is one for each thread

struct segment {
	uint32_t cmd, cmdsize;
	char name[16];
	uint64_t vmaddr, vmsize, fileoff, filesize;
	uint32_t maxprot, initprot, nsects, flags;
};

static struct {
	uint8_t *base; // where vmaddr 0 is
	struct segment *segments[16];
	int count;
	uint8_t *linkedit; // where offset 0 of the file would be
	uint32_t *symtab, *info; // load commands
} image;

static void die(const char *what, const char *name) {
	fprintf(stderr, "macho: %s %s\n", what, name);
	exit(9);
}

static uint64_t uleb(uint8_t **p) {
	uint64_t v = 0;
	for (int shift = 0;; shift += 7) {
		uint8_t b = *(*p)++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
}

static void rebase(uint8_t *p, uint8_t *end) {
	uint8_t *at = 0;
	while (p < end) {
		uint8_t op = *p & 0xf0, imm = *p & 0xf;
		uint64_t times = 0, skip = 0;
		p++;
		switch (op) {
		case 0x00: return;
		case 0x10: break;
		case 0x20: at = image.base + image.segments[imm]->vmaddr + uleb(&p); break;
		case 0x30: at += uleb(&p); break;
		case 0x40: at += 8 * imm; break;
		case 0x50: times = imm; break;
		case 0x60: times = uleb(&p); break;
		case 0x70: times = 1; skip = uleb(&p); break;
		case 0x80: times = uleb(&p); skip = uleb(&p); break;
		default: die("unknown", "rebase opcode");
		}
		for (; times > 0; times--, at += 8 + skip)
			*(uint64_t *)at += (uint64_t)image.base;
	}
}

static void *resolve(const char *name) {
	if (strcmp(name, "dyld_stub_binder") == 0)
		return 0; // nothing is bound lazily
	if (strcmp(name, "___emutls_get_address") == 0)
		return (void *)__emutls_get_address;
	void *symbol = dlsym(RTLD_DEFAULT, name + 1);
	if (!symbol)
		die("unknown symbol", name);
	return symbol;
}

static void bind(uint8_t *p, uint8_t *end) {
	uint8_t *at = 0;
	const char *name = "";
	while (p < end) {
		uint8_t op = *p & 0xf0, imm = *p & 0xf;
		uint64_t times = 0, skip = 0;
		p++;
		switch (op) {
		case 0x00: case 0x10: case 0x30: case 0x50: break;
		case 0x20: uleb(&p); break;
		case 0x40: name = (char *)p; p += strlen(name) + 1; break;
		case 0x70: at = image.base + image.segments[imm]->vmaddr + uleb(&p); break;
		case 0x80: at += uleb(&p); break;
		case 0x90: times = 1; break;
		case 0xa0: times = 1; skip = uleb(&p); break;
		case 0xb0: times = 1; skip = 8 * imm; break;
		case 0xc0: times = uleb(&p); skip = uleb(&p); break;
		default: die("unknown", "bind opcode");
		}
		for (; times > 0; times--, at += 8 + skip)
			*(void **)at = resolve(name);
	}
}

// slice finds x86-64 in a universal file.
static uint64_t slice(const uint8_t *head) {
	const uint32_t *fat = (const uint32_t *)head;
	if (__builtin_bswap32(fat[0]) != 0xcafebabe)
		return 0;
	for (uint32_t i = 0; i < __builtin_bswap32(fat[1]); i++)
		if (__builtin_bswap32(fat[2 + 5 * i]) == 0x01000007)
			return __builtin_bswap32(fat[4 + 5 * i]);
	die("no image of x86-64", "");
	return 0;
}

void *macho_open(const char *path) {
	static uint8_t head[1 << 16];
	const char *how = getenv("NATIVE_LOAD");
	int file = open(path, O_RDONLY), in_memory = how && strcmp(how, "memory") == 0;
	if (file < 0 || pread(file, head, sizeof head, 0) < 4096)
		die("cannot read", path);
	uint64_t start = slice(head);
	if (pread(file, head, sizeof head, start) < 4096 || *(uint32_t *)head != 0xfeedfacf)
		die("no Mach-O image in", path);
	uint64_t size = 0;
	uint32_t n = *(uint32_t *)(head + 16);
	uint8_t *command = head + 32;
	for (; n > 0; n--, command += ((uint32_t *)command)[1])
		switch (*(uint32_t *)command) {
		case 0x19: {
			struct segment *s = (struct segment *)command;
			image.segments[image.count++] = s;
			size = s->vmaddr + s->vmsize;
			break;
		}
		case 0x2: image.symtab = (uint32_t *)command; break;
		case 0x80000022: image.info = (uint32_t *)command; break;
		}
	image.base = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < image.count; i++) {
		struct segment *s = image.segments[i];
		uint8_t *at = image.base + s->vmaddr;
		int prot = s->initprot;
		if (in_memory) {
			if (mprotect(at, s->vmsize, PROT_READ | PROT_WRITE) < 0 || pread(file, at, s->filesize, start + s->fileoff) != (ssize_t)s->filesize ||
			    mprotect(at, s->vmsize, prot) < 0)
				die("cannot read", s->name);
		} else if (mmap(at, s->vmsize, prot, MAP_PRIVATE | MAP_FIXED, file, start + s->fileoff) != at)
			die("cannot map", s->name);
		if (strcmp(s->name, "__LINKEDIT") == 0)
			image.linkedit = at - s->fileoff;
	}
	close(file);
	uint32_t *i = image.info;
	rebase(image.linkedit + i[2], image.linkedit + i[2] + i[3]);
	bind(image.linkedit + i[4], image.linkedit + i[4] + i[5]);
	bind(image.linkedit + i[8], image.linkedit + i[8] + i[9]);
	return image.base;
}

void *macho_symbol(void *base, const char *name) {
	struct { uint32_t name; uint8_t type, section; uint16_t desc; uint64_t value; } *symbol = (void *)(image.linkedit + image.symtab[2]);
	for (uint32_t n = image.symtab[3]; n > 0; n--, symbol++) {
		const char *is = (char *)image.linkedit + image.symtab[4] + symbol->name;
		if (is[0] == '_' && strcmp(is + 1, name) == 0 && (symbol->type & 0xee) == 0xe)
			return (uint8_t *)base + symbol->value;
	}
	die("the library has no", name);
	return 0;
}
#endif
