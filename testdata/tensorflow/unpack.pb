
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:
5
unstackUnpackx0*
T0*

axis*	
num
&
IdentityIdentityunstack*
T0
*

Identity_1Identity	unstack:1*
T0
*

Identity_2Identity	unstack:2*
T0
*

Identity_3Identity	unstack:3*
T0
*

Identity_4Identity	unstack:4*
T0"ª