package serve

// tcpUsersKnown says that the kernel's table has the users of connections.
const tcpUsersKnown = true
