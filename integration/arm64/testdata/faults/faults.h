// fault breaks a rule and does not return.
int fault(int kind, int n);
