// Package scan measures how right a scan of the stack is where the model of the code and
// all tables are taken away: programs are stopped in this process, and walked without them.
// With the model next to nothing is left for a scan to find.
package scan
