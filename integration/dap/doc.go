// Package dap holds `clew dap` to what editors get from `dlv dap`: scripted
// sessions are played against both and compared message by message, apart from
// intended differences (intended_test.go), and its stacks are
// compared with what programs recorded of themselves.
//
// Longer rounds than those of every day:
//
//	CLEW_DAP_SESSIONS=1000 go test ./integration/dap -run TestSessions -timeout 2h
//	CLEW_RACE=1 GORACE=log_path=/tmp/race go test ./integration/dap -timeout 2h
//
// The first has one server serve 1,000 sessions one after another, and then 16 at
// once, and looks for processes, file descriptors and files that are left over. The
// second builds clew with the race detector: its findings in any of clew's
// processes are in the files /tmp/race.PID, of which there must be none. The last time
// they took 4 and 11 minutes on two cores, and nothing was left over or found.
package dap
