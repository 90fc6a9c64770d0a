// Package apply has what applying rules to a frame needs, whatever table the
// rules are from: the frame and its caller, the ways in which a rule cannot be
// applied, and the arithmetic of addresses.
package apply
