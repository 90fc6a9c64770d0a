// Package internals holds everything of Delve that clew relies on and that Delve's
// API does not promise: private fields, texts, the form of messages, behaviour.
// Nothing else in clew reads a private field of Delve's or relies on a text of its.
//
// Each reliance is an [Entry]: its name, its place in Delve, what breaks without
// it, and how clew notices. [Check] proves, in less than a millisecond and at the
// start of every session, all that can be proven without a program. What only a live
// program shows is proven where it is used first ([Changed] makes the error), or by
// a test. README.md lists the entries and who notices when each of them changes;
// integration/delve/change changes Delve's source to prove that list.
package internals
