// SPDX-License-Identifier: GPL-2.0
// Stands on nvidia.ko and, with stuck=1, never comes back from its own exit: an unload that hangs in the kernel,
// with its process in uninterruptible sleep, as nvidia-uvm has been seen to do. For tests only.
#include <linux/delay.h>
#include <linux/module.h>

static bool stuck;
module_param(stuck, bool, 0644);
MODULE_PARM_DESC(stuck, "block in the exit for ever");

// Any symbol that nvidia.ko exports; taking its address is what makes this module depend on nvidia.
extern int nvidia_p2p_free_page_table(void *page_table);
static void *volatile anchor;

static int __init stuckexit_init(void)
{
	anchor = nvidia_p2p_free_page_table;
	return 0;
}

static void __exit stuckexit_exit(void)
{
	while (READ_ONCE(stuck))
		msleep(100);
}

module_init(stuckexit_init);
module_exit(stuckexit_exit);
MODULE_DESCRIPTION("A module on top of nvidia whose exit can hang, for tests");
MODULE_VERSION(STUCKEXIT_VERSION);
MODULE_LICENSE("GPL");
