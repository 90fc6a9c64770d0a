// Package examples has small programs that use clew, each in a folder with run.sh; its
// test runs them. README.md lists them.
package examples
