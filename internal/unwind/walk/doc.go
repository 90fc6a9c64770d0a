// Package walk is the part of a strategy that all strategies share: a state that
// Update replaces, the ranges to yield to, one walk for each request, and the ways
// in which a walk ends.
package walk
