int grind(int cups);
int froth(int cups, int seconds);
