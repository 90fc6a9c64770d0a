// Command picture draws docs/demo.svg, the picture of clew's README: what `clew demo`
// prints, with the colours of trust.
//
//	go run ./integration/picture
//
// Its test draws it again, and compares all but addresses and numbers.
package main
