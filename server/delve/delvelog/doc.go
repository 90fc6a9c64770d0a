// Package delvelog has Delve log through clew, in Delve's form, and learns from the lines what Delve is about to do: Delve has no other
// callback for some of that.
package delvelog
