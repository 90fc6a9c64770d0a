// Package shadow keeps the stack of a program that is single-stepped, as its call and
// return instructions make it: the truth that stacks are compared with.
package shadow
