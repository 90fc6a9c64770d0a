// Package executable decides which programs Delve is given to open, and bounds what opening them may take. What has no Go code, is no file or is
// of another kind is refused with the reason; an executable beside a core file, which may come from a stranger, is loaded first by another
// process, under limits; and a session that takes more memory than its share while Delve reads ends.
package executable
