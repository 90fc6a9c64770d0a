#include <netdb.h>

extern void inside(void);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
	inside();
	return EAI_FAIL;
}
