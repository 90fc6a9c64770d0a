package main

import "testing"

func TestBusy(*testing.T) { main() }
