// D: templates, delegates, ranges, classes, exceptions.
module work;

import std.algorithm;
import std.array;
import std.conv;
import std.range;
import std.stdio;

interface Rule { long cost(long price); }

class Flat : Rule {
    long fee;
    this(long fee) { this.fee = fee; }
    long cost(long price) { return price + fee; }
}

class Scaled(T) : Rule {
    T factor;
    this(T factor) { this.factor = factor; }
    long cost(long price) { return cast(long)(price * factor); }
}

struct Ring(T, int n) {
    T[n] slots;
    int at;
    void put(T v) { slots[at++ % n] = v; }
}

long fold(alias f, R)(ref R ring) {
    long sum = 0;
    foreach (ref s; ring.slots) sum += f(s);
    return sum;
}

long total(long[] prices, Rule rule) {
    return prices.filter!(p => p > 3).map!(p => rule.cost(p)).sum;
}

long parsed(string text) {
    try {
        return text.to!long;
    } catch (ConvException e) {
        return -1;
    }
}

void main(string[] args) {
    auto prices = iota(300).map!(i => cast(long)(i * 7919 % 1009)).array;
    prices.sort!((a, b) => (a ^ 0x55) < (b ^ 0x55));
    Ring!(long, 16) ring;
    foreach (Rule r; [cast(Rule) new Flat(2), new Scaled!double(1.5)]) ring.put(total(prices, r));
    long delegate(long) twice = (long v) => v * 2 + cast(long) args.length;
    writeln(ring.fold!(v => v / 2), " ", twice(ring.at), " ", parsed(args[0]));
}
