// Package pluginhost runs unwinder plugins in processes of their own and makes
// them usable as plain [unwind.Unwinder] values.
//
// A plugin is started when it is first needed. Built-in ones are the host's own
// executable, run as `clew plugin NAME`; third-party ones are executables named
// in the configuration with their SHA-256, of which the host runs a copy that it
// has checked itself.
//
// # When a plugin fails
//
//   - It crashes (its process ends, its connection breaks): it is started again,
//     is sent all images and ranges to yield, and the call is repeated once.
//   - It stalls (a walk takes longer than [Options.WalkTimeout]): it is killed
//     and the call fails with a [*TimeoutError], without a repetition: the next
//     strategy takes the frame. It is started again when it is next needed.
//   - It allocates more than [Config.MemoryMiB] (a third party's): its process ends, as one that crashes.
//   - It lies (its answer contradicts itself): the call fails with a
//     [*wire.ContractError], and the process is replaced.
//   - Three such failures within a minute switch it off for the session: calls
//     then fail with a [*DisabledError], and [Options.OnNotice] tells the user
//     once.
//   - The strategy itself returns an error: a [*wire.StrategyError], which is not
//     a failure of the process.
//
// # Cleaning up
//
// A host leaves nothing behind. Sockets and checked copies lie in a session folder
// of mode 0700 that Close removes. Every plugin holds a life-line to the host and
// removes the folder when the host is gone, in whatever way. Folders of hosts that were
// killed together with all their plugins are removed when a later host starts
// its first plugin. What a plugin has started and left in its process group ends with it.
//
// Plugins that do not use the plugin kit and ignore the life-line outlive a
// host that is killed; that cannot be helped from here.
package pluginhost
