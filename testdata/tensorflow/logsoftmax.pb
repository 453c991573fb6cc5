
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
%

LogSoftmax
LogSoftmaxx0*
T0
)
IdentityIdentity
LogSoftmax*
T0"ª