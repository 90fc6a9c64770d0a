// Package steptest is the truth test of strategies with tables: programs are
// single-stepped with a shadow stack that notes CFA, return address and
// callee-saved registers when a function is entered. At every instruction that
// the strategy covers it makes one step, and that is compared; now and then it
// walks the whole stack. No other unwinder is asked.
package steptest
