# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/host
daemon_host_libhost_a_SOURCES += \
    %D%/job_files.cpp \
    %D%/job_files.hpp \
    %D%/launcher.hpp \
    %D%/launcher_direct.cpp \
    %D%/launcher_direct.hpp \
    %D%/launcher_systemd.cpp \
    %D%/launcher_systemd.hpp \
    %D%/sandbox.cpp \
    %D%/sandbox.hpp \
    %D%/worker.cpp \
    %D%/worker.hpp \
    %D%/worker_socket.cpp \
    %D%/worker_socket.hpp
