// In a file of its own, because it may have been compiled otherwise than its
// callers.
#include "spots.h"

FRAME int leaf(int n) {
	ENTER("leaf");
	volatile int local[4] = {n, n + 1};
	SPOT("leaf");
	local[2] = local[0] + local[1];
	local[3] = stir(local[2]);
	return local[3] + local[2];
}
