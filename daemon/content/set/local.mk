# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/crypto daemon/core
daemon_content_libcontent_a_SOURCES += \
    %D%/file_list.cpp \
    %D%/file_list.hpp \
    %D%/file_operation.cpp \
    %D%/file_operation.hpp \
    %D%/import_files.cpp \
    %D%/import_files.hpp \
    %D%/publication.cpp \
    %D%/publication.hpp \
    %D%/removal.cpp \
    %D%/removal.hpp \
    %D%/set_writer.cpp \
    %D%/set_writer.hpp
