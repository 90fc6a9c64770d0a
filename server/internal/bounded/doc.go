// Package bounded reads streams of JSON in which no object may be too long: encoding/json keeps an object until it has
// read its end.
package bounded
