package interpose

func RunAlone(trace func(func()), pid, tid int) error { return runAlone(trace, pid, tid) }

const Alone = alone
