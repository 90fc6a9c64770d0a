int grind(int cups);
int froth(int cups);
int order(int cups);
void spill(int cups);
