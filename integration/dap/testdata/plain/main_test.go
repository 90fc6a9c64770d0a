package main

import "testing"

func TestSum(t *testing.T) {
	if got := sum(1, 2); got != 39 {
		t.Errorf("sum(1, 2) = %d", got)
	}
}
