// Package plus has C++.
package plus

// #cgo CXXFLAGS: -O0 -g -std=c++17
// int run_plus(int n);
// int run_throws(int n);
import "C"

// Run runs classes and the like.
func Run() int { return int(C.run_plus(1)) }

// Throws runs exceptions.
func Throws() int { return int(C.run_throws(1)) }
