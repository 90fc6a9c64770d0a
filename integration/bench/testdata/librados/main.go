// Command librados stops far inside a large C++ library: of librados, which resolves
// host names by a function of this program's.
package main

// #cgo LDFLAGS: -lrados -rdynamic
// #include <rados/librados.h>
// extern void inside(void);
// static int join(void) {
//	rados_t cluster;
//	int err = rados_create(&cluster, "bench");
//	if (err == 0) err = rados_conf_set(cluster, "mon_host", "host.invalid");
//	if (err == 0) err = rados_connect(cluster);
//	return err;
// }
import "C"
import "fmt"

//export inside
func inside() { fmt.Println("inside") }

func main() { fmt.Println(C.join()) }
