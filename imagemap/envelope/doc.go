// Package envelope reads and writes the JSON object in which Swift's runtime (6.2
// and later) stores a backtrace with its images: the interchange form that Swift
// programs can decode, symbolicate and print.
//
//	{"architecture":"x86_64","backtrace":"<base64>","imageMap":"<base64>"}
//
// The backtrace is in the Compact Backtrace Format (package cbf), the image map,
// which may be missing, in the Compact ImageMap Format (package imagemap). This
// package looks into neither. Base64 is that of RFC 4648, section 4; Swift writes
// it without padding, and so does this package; both are read.
package envelope
