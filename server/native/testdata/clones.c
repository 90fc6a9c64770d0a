volatile int sink;

static __attribute__((noinline)) int scaled(int a, int by)
{
  for (int i = 0; i < a; i++)
    sink += i * by;
  return sink;
}

int first(int a) { return scaled(a, 8); }
int second(int a) { return scaled(a + 1, 8); }
int main(int argc, char **argv) { return first(argc) + second(argc); }
