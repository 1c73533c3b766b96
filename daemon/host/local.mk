# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libhost.a
%C%_libhost_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libhost_a_SOURCES = \
    %D%/audit.cpp \
    %D%/audit.hpp \
    %D%/bus_connection.cpp \
    %D%/bus_connection.hpp \
    %D%/cluster_side.cpp \
    %D%/cluster_side.hpp \
    %D%/event.cpp \
    %D%/event.hpp \
    %D%/history.cpp \
    %D%/history.hpp \
    %D%/job_files.cpp \
    %D%/job_files.hpp \
    %D%/job_worker.cpp \
    %D%/job_worker.hpp \
    %D%/journal_sink.cpp \
    %D%/journal_sink.hpp \
    %D%/launcher.hpp \
    %D%/launcher_direct.cpp \
    %D%/launcher_direct.hpp \
    %D%/kubelet_files.cpp \
    %D%/kubelet_files.hpp \
    %D%/launcher_systemd.cpp \
    %D%/launcher_systemd.hpp \
    %D%/manager.cpp \
    %D%/manager.hpp \
    %D%/mounted_system.cpp \
    %D%/mounted_system.hpp \
    %D%/notify.cpp \
    %D%/notify.hpp \
    %D%/operation.cpp \
    %D%/operation.hpp \
    %D%/runner.cpp \
    %D%/runner.hpp \
    %D%/runner_resume.cpp \
    %D%/sandbox.cpp \
    %D%/sandbox.hpp \
    %D%/sweeper.cpp \
    %D%/sweeper.hpp \
    %D%/worker.cpp \
    %D%/worker.hpp \
    %D%/worker_socket.cpp \
    %D%/worker_socket.hpp
