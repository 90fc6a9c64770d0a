/* Functions with frames of many shapes; no library is needed. */
#define NI __attribute__((noinline))
typedef long (*fn)(long);
extern long sink(long);
volatile long g[64];
NI long leaf(long a){ return a * 3 + g[a & 63]; }
NI long one(long a){ long x = leaf(a); return leaf(x) + a; }
NI long two(long a){ long x = one(a), y = one(x); return x ^ y ^ a; }
NI long three(long a,long b,long c){ long x=two(a),y=two(b),z=two(c); return x+y*z+a+b+c+leaf(x)+leaf(y)+leaf(z); }
NI long four(long a,long b,long c,long d){ long x=three(a,b,c),y=three(b,c,d),z=three(c,d,a),w=three(d,a,b); return x+y*z-w+leaf(a)+leaf(b)+leaf(c)+leaf(d)+x*a+y*b; }
NI long five(long a,long b,long c,long d,long e){ long x=four(a,b,c,d),y=four(b,c,d,e),z=four(c,d,e,a); for(int i=0;i<5;i++){ x+=four(x,y,z,i)*a; y^=four(b,c,d,e); z-=four(e,x,y,z);} return x+y+z+a+b+c+d+e; }
NI long big(long a){ volatile long buf[40]; for(int i=0;i<40;i++) buf[i]=a+i; return leaf(buf[a&31])+two(a); }
NI long huge(long a){ volatile long buf[4000]; for(int i=0;i<4000;i++) buf[i]=a+i; return leaf(buf[a&31])+two(a)+five(a,a+1,a+2,a+3,a+4); }
NI long mid(long a){ volatile char buf[1200]; for(int i=0;i<1200;i++) buf[i]=a+i; return leaf(buf[a&31])+two(a)*leaf(a); }
NI long vla(long a){ volatile char buf[a&255]; buf[0]=1; return leaf(buf[0])+a; }
NI double fl(double a,double b,double c,double d){ double x=a*b; g[0]=leaf((long)x); double y=c*d+x; g[1]=leaf((long)y); double z = y*a+b; g[2]=leaf((long)z); return x+y+z+a+b+c+d; }
NI long tail(long a){ return two(a+1); }
NI long sw(long a){ switch(a){case 0:return leaf(1);case 1:return two(2);case 2:return one(7);case 3:return big(3);case 4:return mid(4);case 5: return huge(5);default:return 9;} }
__asm__(".globl _byhand\n_byhand:\n ret\n");
NI long entry(long a){ return sw(a)+tail(a)+vla(a)+(long)fl(a,a,a,a)+five(a,1,2,3,4); }
