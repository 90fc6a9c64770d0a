// high stops in a thread whose stack, and one of whose functions, lie above the addresses of 48 bits. It writes the return
// addresses of its functions into a file before. It exits with status 9 where the machine has no such addresses.
void high(const char *record);
