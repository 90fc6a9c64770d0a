// Package show knows how containers are shown: as what they hold. A formatter is data: which types it is for, by their name and
// by the members that they must have, and which members lead to what they hold. Those that come with clew are in
// containers.json, in the form of a user's own.
package show
